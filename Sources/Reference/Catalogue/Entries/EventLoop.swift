extension Catalogue {
    /// Timers and waiting.
    static let eventLoop: [CatalogueEntry] = [
        .function(
            "after", of: moonpool, ["(seconds: number, body: fun()): Timer"],
            "Calls a function once, after so many seconds.", errors: [.invalidArgument],
            example: """
                local done
                moonpool.after(0.01, function() done = true end)
                print(moonpool.wait_until(function() return done end, 10))  --> true
                """),
        .function(
            "every", of: moonpool, ["(seconds: number, body: fun()): Timer"],
            "Calls a function again and again, so many seconds apart.", errors: [.invalidArgument],
            example: """
                local count = 0
                local timer = moonpool.every(0.01, function() count = count + 1 end)
                moonpool.wait_until(function() return count >= 2 end, 10)
                timer:cancel()
                print(count >= 2)  --> true
                """),
        .function(
            "sleep", of: moonpool, ["(seconds: number)"],
            "Waits, while observers and timers of this script run.", errors: [.invalidArgument],
            example: """
                local token <close> = dogs:observe(function(change) print(change.type) end)
                moonpool.sleep(0.01)  --> initial
                """),
        .function(
            "wait_until", of: moonpool, ["(condition: fun(): any, timeout?: number): boolean"],
            "Waits until a function gives true, while observers and timers run; false on a timeout.",
            errors: [.invalidArgument],
            example: """
                print(moonpool.wait_until(function() return #dogs == 2 end, 10))  --> true
                """),
        .function(
            "stop", of: moonpool, ["()"], "Ends this script's event loop, whatever keeps it going.",
            example: """
                moonpool.every(60, function() end)
                moonpool.stop()
                """),
        .method(
            "cancel", of: [timer], ["()"], "Ends the timer; its function is not called again.",
            example: """
                local timer = moonpool.after(60, function() end)
                timer:cancel()
                print(timer.is_active)  --> false
                """),
        .field(
            "is_active", of: [timer], "boolean", "Whether the function will be called (again)."),
    ]
}
