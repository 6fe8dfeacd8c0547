import TestThreads
import Testing

extension Feature {
    /// Files and command lines: scripts, start-up files, transcripts and exit codes.
    static let files: [Feature] = [
        Feature(".load and .save") { trial in
            try trial.write("local loaded = 70\nprint('loading')\n", to: "part.lua")
            try trial.run(".load \(trial.folder)/part.lua", shows: "loading")
            try trial.run("loaded + 1", shows: "71")
            try trial.run(".save \(trial.folder)/saved.lua", shows: "run it with")
            #expect(trial.contents(of: "saved.lua").contains("loaded + 1"))
        },
        Feature(".edit in $EDITOR", needsCursor: true) { trial in
            try trial.run("'edited ' .. 40", shows: "edited 40")
            try trial.run(".edit", shows: "edited 41")
        },
        Feature("reloading a changed module") { trial in
            try trial.write("return { value = 'old' }", to: "part_module.lua")
            try trial.run("package.path = '\(trial.folder)/?.lua'")
            try trial.run("part = require 'part_module'; part.value", shows: "\"old\"")
            try trial.write("return { value = 'renewed' }", to: "part_module.lua")
            try trial.run(".reload part_module")
            try trial.run("part.value", shows: "\"renewed\"")
        },
        Feature("-e, -l, -, scripts with arguments") { trial in
            try trial.expect(["-e", "print(6 * 7)"], shows: "42")
            try trial.write("print('argument', arg[1])", to: "script.lua")
            try trial.expect([trial.folder + "/script.lua", "first"], shows: "first")
        },
        Feature("exit codes") { trial in
            try trial.expect(["-e", "os.exit(7)"], exitCode: 7)
            try trial.expect(["-e", "error 'x'"], exitCode: 1)
            try trial.expect(["-e"], exitCode: 1)
            try trial.expect(["-e", "x = 1"], exitCode: 0)
        },
        Feature("a script stops at its first error") { trial in
            try trial.write("print('one')\nerror('stop')\nprint('two')\n", to: "failing.lua")
            try trial.expect(
                [trial.folder + "/failing.lua"], exitCode: 1, shows: "one", hides: "two")
        },
        Feature("a startup file, LUA_INIT, and switches to skip them") { trial in
            let folder = try TemporaryFolder()
            for name in ["config", "config/moonpool"] { try folder.make(name) }
            try folder.write(
                "local mine = 'startup file' print(mine)", to: "config/moonpool/init.lua")
            let other = try FeatureTrial(trial.kind, in: folder)
            #expect(other.session.terminal.screen.text.contains("startup file"))
            try other.run("mine", shows: "\"startup file\"")
            try other.end()
            let bare = try FeatureTrial(trial.kind, ["--no-rc"], in: folder)
            #expect(!bare.session.terminal.screen.text.contains("startup file"))
            try bare.end()
            let variables = ["LUA_INIT": "print('from LUA_INIT')"]
            try trial.expect(["-e", "x = 1"], variables, shows: "from LUA_INIT")
            try trial.expect(["-E", "-e", "x = 1"], variables, hides: "LUA_INIT")
        },
        Feature("XDG folders", needsCursor: true) { trial in
            try trial.run("'for the history'")
            #expect(trial.contents(of: "state/moonpool/history").contains("'for the history'"))
        },
        Feature("read-only mode") { trial in
            let path = trial.folder + "/read.moonpool"
            _ = try trial.command(
                ["-e", "moonpool.open { path = '\(path)', schema = { A = { n = 'int' } } }"])
            let other = try FeatureTrial(trial.kind, ["--read-only", path])
            try other.run("store.is_read_only", shows: "true")
            try other.run("store:write(function() end)", shows: "read")
            try other.end()
        },
        Feature("a transcript that runs again", needsCursor: true) { trial in
            let file = trial.folder + "/session.txt"
            let other = try FeatureTrial(trial.kind)
            try other.run(".transcript \(file)", shows: "recording")
            try other.run("5 * 5", shows: "25")
            try other.run("nothing.y", shows: "attempt")
            try other.run(".transcript", shows: "2 entries")
            try other.end()
            let outcome = try trial.command(["transcript", file])
            #expect(outcome.code == 0, "\(outcome.text)\n\(trial.contents(of: "session.txt"))")
        },
    ]
}
