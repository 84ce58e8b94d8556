import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The broker stores a record, and the connection is cut in place of the acknowledgement: the producer has to send the
 * record again, and the broker stores it once. Client: kafka-clients 4.4.0.
 *
 *   signalbox up --drill --topic orders:3 --detach
 *   java -cp 'kafka-clients-4.4.0.jar:slf4j-api-1.7.36.jar' LostAcknowledgement.java 127.0.0.1:19092 orders
 */
public class LostAcknowledgement {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1];
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, null, "before")).get(60, TimeUnit.SECONDS);
            drill("cut-response", "Produce");
            producer.send(new ProducerRecord<>(topic, 0, null, "charge the card")).get(60, TimeUnit.SECONDS);
        } finally {
            drill("clear");
        }
        List<String> stored = stored(settings, new TopicPartition(topic, 0));
        if (!stored.equals(List.of("before", "charge the card"))) {
            throw new AssertionError("stored: " + stored);
        }
        System.out.println("passed");
    }

    private static List<String> stored(Map<String, Object> settings, TopicPartition partition) {
        List<String> values = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
            }
        }
        return values;
    }

    private static void drill(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("signalbox", "drill"));
        command.addAll(List.of(words));
        if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
            throw new IllegalStateException(String.join(" ", command) + " failed");
        }
    }
}
