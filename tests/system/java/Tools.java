// Many runs of Kafka's command-line tools in one JVM. A request on stdin is the number of its words and then one word a
// line, base64: the main class, what to give it as standard input, its arguments. An answer is one line: exit code,
// base64 of standard output, base64 of standard error.

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.utils.Exit;

public class Tools {
    // A tool that catches everything catches this too and exits again: the first code is the one that counts.
    private static final class Ended extends RuntimeException {
        Ended() {
            super("ended", null, false, false);
        }
    }

    private static Integer exitCode;

    // Scala's Console keeps the stream it finds first: what changes is behind it.
    private static final class Switched extends OutputStream {
        ByteArrayOutputStream behind = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            behind.write(one);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            behind.write(bytes, offset, length);
        }

        synchronized String taken() {
            String text = Base64.getEncoder().encodeToString(behind.toByteArray());
            behind = new ByteArrayOutputStream();
            return text;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Switched out = new Switched();
        Switched err = new Switched();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.Procedure end = (code, message) -> {
            if (exitCode == null)
                exitCode = code;
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        for (String count = requests.readLine(); count != null; count = requests.readLine()) {
            String[] words = new String[Integer.parseInt(count)];
            for (int index = 0; index < words.length; index++)
                words[index] = new String(Base64.getDecoder().decode(requests.readLine()), StandardCharsets.UTF_8);
            System.setIn(new ByteArrayInputStream(words[1].getBytes(StandardCharsets.UTF_8)));
            int code = run(words[0], Arrays.copyOfRange(words, 2, words.length));
            System.out.flush();
            System.err.flush();
            answers.println(code + " " + out.taken() + " " + err.taken());
            answers.flush();
        }
    }

    private static int run(String mainClass, String[] arguments) throws Exception {
        exitCode = null;
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                thrown.getCause().printStackTrace();
                return 1;
            }
        }
        return exitCode == null ? 0 : exitCode;
    }
}
