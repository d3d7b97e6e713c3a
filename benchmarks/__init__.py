"""Speed and memory: ``python -m benchmarks`` lists the benchmarks."""
