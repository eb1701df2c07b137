runBenchmark()
