import TestThreads

/// The random numbers of these tests.
typealias SplitMix = SeededGenerator
