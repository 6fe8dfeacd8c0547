extension HelpCatalog {
    /// The functions for timers and waiting.
    static let eventLoop: [HelpEntry] = [
        .function(
            "after", of: moonpool, ["(seconds: number, body: fun()): Timer"],
            "Calls a function once, after a number of seconds.", errors: [.invalidArgument],
            example: """
                local done
                moonpool.after(0.01, function() done = true end)
                print(moonpool.wait_until(function() return done end, 10))  --> true
                """),
        .function(
            "every", of: moonpool, ["(seconds: number, body: fun()): Timer"],
            "Calls a function repeatedly, at an interval in seconds.", errors: [.invalidArgument],
            example: """
                local count = 0
                local timer = moonpool.every(0.01, function() count = count + 1 end)
                moonpool.wait_until(function() return count >= 2 end, 10)
                timer:cancel()
                print(count >= 2)  --> true
                """),
        .function(
            "sleep", of: moonpool, ["(seconds: number)"],
            "Waits for a number of seconds. Observers and timers of this script run in the meantime.",
            errors: [.invalidArgument],
            example: """
                local token <close> = dogs:observe(function(change) print(change.type) end)
                moonpool.sleep(0.01)  --> initial
                """),
        .function(
            "wait_until", of: moonpool, ["(condition: fun(): any, timeout?: number): boolean"],
            "Waits until a function returns true, or returns false on timeout. Observers and timers run in the meantime.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.wait_until(function() return #dogs == 2 end, 10))  --> true
                """),
        .function(
            "stop", of: moonpool, ["()"],
            "Stops the event loop of this script, even if observers, timers or workers are active.",
            example: """
                moonpool.every(60, function() end)
                moonpool.stop()
                """),
        .method(
            "cancel", of: [timer], ["()"], "Cancels the timer.",
            example: """
                local timer = moonpool.after(60, function() end)
                timer:cancel()
                print(timer.is_active)  --> false
                """),
        .field(
            "is_active", of: [timer], "boolean", "Whether the timer will call its function again."),
    ]
}
