// A Kafka Streams application with exactly-once v2: a word count, two joins and a windowed sum. Each update is written,
// none is cached: what is lost or repeated shows in the output.
//   <bootstrap> <application id> <state folder>
// It prints `running` when its tasks are, and ends when standard input does.
//
//   lines (text)                       -> counts     word -> n
//   clicks (user -> page), users       -> visits     user -> page@country
//   orders, payments (order -> text)   -> paid       order -> order/payment, within 60 s
//   readings (any -> sensor:value)     -> sums       sensor@window start -> sum:count, windows of 10 s

import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.*;

public class Streams {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "200");
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        config.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "3");
        config.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, "1000");
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        config.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        KafkaStreams streams = new KafkaStreams(topology(), config);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) System.out.println("running");
            if (now == KafkaStreams.State.ERROR) System.exit(1);
        });
        streams.start();
        while (System.in.read() >= 0) { }
        System.exit(streams.close(Duration.ofSeconds(60)) ? 0 : 2);
    }

    private static Topology topology() {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("lines")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(Materialized.as("count"))
            .toStream()
            .to("counts", Produced.with(Serdes.String(), Serdes.Long()));
        builder.<String, String>stream("clicks")
            .join(builder.<String, String>table("users"), (page, country) -> page + "@" + country)
            .to("visits");
        builder.<String, String>stream("orders")
            .join(
                builder.<String, String>stream("payments"),
                (order, payment) -> order + "/" + payment,
                JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(60), Duration.ofDays(1)),
                StreamJoined.as("payment"))
            .to("paid");
        builder.<String, String>stream("readings")
            .groupBy((key, reading) -> reading.split(":")[0], Grouped.as("sensors"))
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofDays(1)))
            .aggregate(() -> "0:0", (sensor, reading, sum) -> added(sum, reading.split(":")[1]), Materialized.as("sum"))
            .toStream()
            .map((window, sum) -> KeyValue.pair(window.key() + "@" + window.window().start(), sum))
            .to("sums");
        return builder.build();
    }

    private static String added(String sum, String value) {
        String[] fields = sum.split(":");
        return (Long.parseLong(fields[0]) + Long.parseLong(value)) + ":" + (Long.parseLong(fields[1]) + 1);
    }
}
