import MoonpoolScripting
import Synchronization
import Testing

/// Runs that are stopped while they register an observer on a worker.
@Suite struct InterruptedRegistrationTests {
    @Test func `an observer whose registration was interrupted is never called`() async throws {
        let engine = try ScriptEngine(ScriptConfiguration(name: "engine"))
        let begun = Atomic<Int>(0)
        try engine.register("begin") { begun.add(1, ordering: .releasing) }
        try await engine.run(
            """
            store = moonpool.open { in_memory = "interrupted", schema = { Dog = { id = "int primary", age = "int" } } }
            rex = store:write(function() return store:create("Dog", { id = 1, age = 1 }) end)
            w = moonpool.worker("w", function()
                moonpool.on_message(function(text)
                    if text == "pong" then return moonpool.post_to_parent(text) end
                    local till = os.clock() + 0.05
                    while os.clock() < till do end
                end)
            end)
            moonpool.on_message(function(text) answers = answers .. text end)
            """)
        // The stop arrives before, while or after the script waits for the busy worker.
        for attempt in 0..<10 {
            let run = Task {
                try await engine.run(
                    """
                    answers = ""
                    w:post "be busy"
                    begin()
                    local token = rex:observe(function() moonpool.post_to_parent "called " end, { on = w })
                    while true do local text = ("x"):rep(50) end
                    """)
            }
            while begun.load(ordering: .acquiring) <= attempt { await Task.yield() }
            let moment = ContinuousClock.now + .milliseconds(2 * attempt)
            while ContinuousClock.now < moment { await Task.yield() }
            engine.stop()
            await #expect(throws: ScriptFailure.self) { try await run.value }
            let answers: String = try await engine.run(
                """
                collectgarbage()
                store:write(function() rex.age = rex.age + 1 end)
                w:post "pong"
                moonpool.wait_until(function() return answers:find "pong" end, 10)
                return answers
                """)
            #expect(answers == "pong")
        }
        await engine.close()
    }
}
