/*
 * Busy [THREADS]: a Java program that speaks the protocol of tracee.h.  Half of its threads make
 * garbage all the time, the others wait.
 *
 *	N	-> the sum of i * i for 0 <= i < N
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

public class Busy {
	static volatile Object kept;

	static void makeGarbage() {
		for (int i = 0;; i++) {
			kept = new byte[i % 5000];
			if (i % 100 == 0)
				Thread.yield();
			if (i % 1000 == 0)
				pause();
		}
	}

	static void pause() {
		try {
			Thread.sleep(1);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	static void waitForEver() {
		try {
			new CountDownLatch(1).await();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws IOException {
		int threads = args.length > 0 ? Integer.parseInt(args[0]) : 10;
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		for (int i = 0; i < threads; i++) {
			Thread thread = new Thread(i % 2 == 0 ? Busy::makeGarbage : Busy::waitForEver);

			thread.setDaemon(true);
			thread.start();
		}
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			long sum = 0;

			for (long i = 0; i < Long.parseLong(line); i++)
				sum += i * i;
			System.out.println(sum);
		}
		System.out.println("alive");
	}
}
