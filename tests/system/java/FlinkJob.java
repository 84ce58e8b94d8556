// A Flink job in a mini cluster: it reads numbers from a topic and writes their doubles with the exactly-once sink.
//   <bootstrap> <source> <target> <checkpoint folder> <checkpoint to restore> | - <INCREMENTING | POOLING>
// It ends when standard input does.

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.*;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

public class FlinkJob {
    public static void main(String[] args) throws Exception {
        Configuration config = new Configuration();
        config.setString("execution.checkpointing.interval", "500 ms");
        config.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        config.setString("execution.checkpointing.dir", "file://" + args[3]);
        config.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        config.setString("restart-strategy.type", "fixed-delay");
        config.setString("restart-strategy.fixed-delay.attempts", "20");
        config.setString("restart-strategy.fixed-delay.delay", "1 s");
        if (!args[4].equals("-")) config.setString("execution.state-recovery.path", "file://" + args[4]);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, config);
        KafkaSource<String> source = KafkaSource.<String>builder()
            .setBootstrapServers(args[0])
            .setTopics(args[1])
            .setGroupId("flink")
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setValueOnlyDeserializer(new SimpleStringSchema())
            .setProperty("isolation.level", "read_committed")
            .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
            .setBootstrapServers(args[0])
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix("flink-" + args[2])
            .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(args[5]))
            .setProperty("transaction.timeout.ms", "120000")
            .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                .setTopic(args[2])
                .setValueSerializationSchema(new SimpleStringSchema())
                .build())
            .build();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers")
            .map(number -> "" + 2 * Long.parseLong(number)).returns(String.class).uid("doubles")
            .sinkTo(sink).uid("sink");
        JobClient job = environment.executeAsync("doubles");
        System.out.println("started");
        while (System.in.read() >= 0) { }
        job.cancel().get();
        System.exit(0);
    }
}
