/// Waits until a condition is true.
///
/// Returns false after five minutes.
///
/// Each wait releases the thread of the task to other tests, and the task continues after the tests that are ready at
/// that time. This can take minutes if all tests start at the same time, so `scripts/test` limits their number.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(2))
    }
    // The last wait may have taken longer than the time that was left.
    return try await condition()
}
