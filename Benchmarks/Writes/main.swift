await runBenchmark()
