/// Waits until a condition holds; false after five minutes.
///
/// Each wait gives the thread of the task to other tests, and the task continues after the tests that are ready by then.
/// That can take minutes when all tests are started at once, so `scripts/test` limits how many are.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(2))
    }
    return false
}
