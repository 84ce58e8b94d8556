// The Java client while its SASL session ends again and again (KIP-368): produces for some seconds with the properties
// of a file, one record after the other, and prints `name value` lines with how that went.
//   renewal <properties file> <topic> <seconds>

import java.io.FileReader;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

public class Renewal {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.load(new FileReader(args[0]));
        int acknowledged = 0, failed = 0;
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(args[2]));
            while (System.nanoTime() < end) {
                try {
                    producer.send(new ProducerRecord<>(args[1], "x")).get(20, TimeUnit.SECONDS);
                    acknowledged++;
                } catch (Exception error) {
                    System.err.println(error);
                    failed++;
                }
                Thread.sleep(20);
            }
        }
        System.out.println("acknowledged " + acknowledged);
        System.out.println("failed " + failed);
        System.exit(0);
    }
}
