import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java producer as the client of a drill (python -m signalbox.testing drill): reads `number partition value`, writes
 * `number ok` or `number reason`. A record waits for metadata in a thread of its own.
 */
public class Drill {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("DRILL_BOOTSTRAP_SERVERS"));
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("reconnect.backoff.max.ms", "200");
        properties.put("linger.ms", "0");
        KafkaProducer<String, String> producer = new KafkaProducer<>(properties);
        String topic = System.getenv("DRILL_TOPIC");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split(" ");
            Thread sender = new Thread(() -> {
                try {
                    ProducerRecord<String, String> record =
                        new ProducerRecord<>(topic, Integer.parseInt(fields[1]), null, fields[2]);
                    producer.send(record, (metadata, error) -> report(fields[0], error));
                } catch (RuntimeException error) {
                    report(fields[0], error);
                }
            });
            sender.setDaemon(true);
            sender.start();
        }
        System.exit(0);
    }

    private static synchronized void report(String number, Exception error) {
        System.out.println(number + " " + (error == null ? "ok" : error.toString().replace('\n', ' ')));
    }
}
