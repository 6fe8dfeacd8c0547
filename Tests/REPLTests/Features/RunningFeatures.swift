import TestSupport

private typealias Key = PseudoTerminal.Key

extension Feature {
    /// Running code: interrupts, callbacks, errors and variables.
    static let running: [Feature] = [
        Feature("Ctrl-C clears the typed line", needsCursor: true) { trial in
            try trial.types("half a line", shows: "half a line")
            try trial.run("3 + 4", shows: "7")
        },
        Feature("Ctrl-C stops running code") { trial in
            trial.type(
                "print('it ' .. 'runs') while true do pcall(function() while true do end end) end\r"
            )
            try trial.wait("it runs")
            trial.type(Key.interrupt)
            try trial.wait("interrupted")
            try trial.run("40 + 8", shows: "48")
        },
        Feature("Ctrl-D leaves") { trial in
            let other = try FeatureTrial(trial.kind)
            try other.end()
        },
        Feature("asynchronous output above the typed line", needsCursor: true) { trial in
            try trial.run("moonpool.after(0.2, function() print('asynchronous ' .. 'output') end)")
            trial.type("half a line")
            try trial.session.terminal.wait(for: "the output above the line") { screen in
                screen.lines.last?.hasSuffix("half a line") == true
                    && screen.lines.dropLast().contains { $0.contains("asynchronous output") }
            }
            trial.type(Key.interrupt)
        },
        Feature("an error in a callback names it, and the session continues", needsCursor: true) {
            trial in
            try trial.run(
                "token = dogs:observe(function() error 'from the callback' end, { name = 'faulty' })"
            )
            try trial.wait("error in 'faulty'")
            try trial.run("token:invalidate()")
            try trial.run("9 * 9", shows: "81")
        },
        Feature("the last result and numbered results") { trial in
            try trial.run("20 + 3", shows: "23")
            try trial.run("_ + 1", shows: "24")
            try trial.run("_1 ~= nil", shows: "true")
        },
        Feature("locals survive between entries") { trial in
            try trial.run("local kept = 61")
            try trial.run("kept + 1", shows: "62")
        },
        Feature("errors with an excerpt and a mark") { trial in
            try trial.run("nothing.x", shows: "attempt to index a nil value", "^~~~~~~")
        },
        Feature("waiting at the top level") { trial in
            try trial.run("moonpool.sleep(0.01) return 'awake' .. 1", shows: "awake1")
        },
        Feature("variables of the frames after an error") { trial in
            try trial.run("function deep(v) local twice = v * 2 return twice.x end")
            try trial.run("deep(6)", shows: "attempt to index")
            try trial.run(".locals", shows: "twice = 12", "v = 6")
            try trial.run(".up", shows: "frame")
        },
    ]
}
