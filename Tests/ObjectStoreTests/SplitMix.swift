import TestThreads

/// The random number generator of these tests.
typealias SplitMix = SeededGenerator
