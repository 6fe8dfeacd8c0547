import EventLoops
import Glibc
import Testing

@Suite struct AttachTests {
    private let folder = try! TemporaryFolder()

    /// A script that runs until it is killed, and its socket.
    private struct Running {
        let folder: TemporaryFolder
        let process: Subprocess
        let socket: String

        init(_ code: String, options: [String] = []) throws {
            folder = try TemporaryFolder()
            socket = folder.path + "/s"
            let script = try folder.write(
                code + "\nio.stdout:write 'ready\\n' io.stdout:flush()", to: "script.lua")
            process = try Subprocess(
                Tool.path, options + ["--attachable=" + socket, script], in: folder.path,
                until: "ready")
        }

        func attach(_ entry: String) throws -> Tool.Outcome {
            try Tool.run(["attach", socket, "-e", entry])
        }
    }

    private static let observing = """
        local store = moonpool.open { in_memory = 'zoo', schema = { Dog = { name = 'string' } } }
        token = store:objects 'Dog':observe(function() end, { name = 'totals' })
        zoo = store
        """

    @Test func `attach shows the state of a running script and leaves it unchanged`() throws {
        let script = try Running(Self.observing)
        #expect(try script.attach("1 + 1").output == "2\n")
        #expect(try script.attach(".observers").output.contains("totals"))
        #expect(try script.attach("print('here')").output == "here\n")
        try script.attach("zoo:write(function() zoo:create('Dog', { name = 'Rex' }) end)")
            .expectSuccess()
        #expect(try script.attach("zoo:objects('Dog')[1].name").output == "\"Rex\"\n")
        for mistake in ["error 'oh'", "oh = = 1", ".oh", ".why 99"] {
            let outcome = try script.attach(mistake)
            #expect(outcome.exitCode == 1, "\(mistake)")
            #expect(!outcome.output.isEmpty, "\(mistake)")
        }
        #expect(try script.attach(".quit").error == "")
        try Tool.run(
            ["attach", script.socket], input: "x = 5\nfor i = 1, 2 do\nprint(i)\nend\nx\n"
        ).expectOutput("1\n2\n5\n")
        let failing = try Tool.run(["attach", script.socket], input: "error 'oh'\nx\n")
            .expectExit(1)
        #expect(failing.output.hasSuffix("\n5\n"))
        #expect(!script.process.output.contains("here"))
        _ = try script.attach("os.exit(3)")
        try script.process.finish().expectExit(3)
        #expect(access(script.socket, F_OK) != 0, "the socket is gone with the script")
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `a signal that ends the script removes its socket`(signal: Int32) throws {
        let script = try Running(Self.observing)
        #expect(access(script.socket, F_OK) == 0)
        script.process.send(signal)
        #expect(try script.process.finish().exitCode == 128 + signal)
        #expect(access(script.socket, F_OK) != 0)
    }

    @Test func `attach stops a handler that does not end, and the script continues`() throws {
        let script = try Running(
            """
            ticks = 0
            moonpool.every(0.001, function() ticks = ticks + 1 end)
            moonpool.after(0, function() io.stdout:write 'stuck\\n' io.stdout:flush() while true do pcall(error) end end)
            """)
        try script.process.wait { script.process.output.contains("stuck") }
        let client = try Subprocess(Tool.path, ["attach", script.socket, "-e", "ticks >= 0"])
        try client.wait { client.error.contains("the script is busy; Ctrl-C stops its code") }
        client.send(SIGINT)
        let outcome = try client.finish()
        #expect(outcome.output.hasSuffix("true\n"))
        try script.process.wait { script.process.error.contains("interrupted") }
        #expect(script.process.error.contains("error in timer"))
        #expect(try script.attach("ticks >= 0").output == "true\n")
    }

    @Test func `an attachable script ignores invalid input on its socket`() throws {
        let script = try Running(Self.observing)
        for bytes in [
            "GET / HTTP/1.1\r\n\r\n", "h", "h\u{0}\u{0}\u{0}\u{0}", "hh",
            "x\u{0}\u{0}\u{0}\u{1}1", "h\u{7f}\u{7f}\u{7f}\u{7f}", "\u{0}\u{0}\u{0}", "",
            "h\u{0}\u{0}\u{0}\u{2}-1x\u{0}\u{0}\u{0}\u{5}))((.o",
        ] {
            for _ in 0..<12 {
                let socket = try LocalSocket.connect(to: script.socket)
                socket.write(Array(bytes.utf8))
                socket.end()
            }
            #expect(try script.attach("1 + 1").output == "2\n", "\(bytes)")
        }
    }

    @Test func `an abandoned socket is replaced, one in use is not`() throws {
        let script = try Running(Self.observing)
        let second = try Tool.run(["--attachable=" + script.socket, "-e", "print 'ran'"])
            .expectError("address already in use")
        #expect(second.output == "")
        try script.process.kill()
        let outcome = try script.attach("1").expectExit(1)
        #expect(
            outcome.error
                == "moonpool: no process listens at '\(script.socket)': it has ended\n"
        )
        try Tool.run(["--attachable=" + script.socket, "-e", "print 'ran'"]).expectOutput("ran\n")
    }

    @Test func `a file that is not a socket is left unchanged`() throws {
        let file = try folder.write("precious", to: "s")
        try Tool.run(["--attachable=" + file, "-e", "print 'ran'"]).expectExit(1)
        #expect(try contents(of: file) == "precious")
        try Tool.run(["attach", file, "-e", "1"]).expectExit(1)
    }

    @Test func `the default socket is in a folder of the user`() throws {
        let code = "print(io.open('/proc/self/stat'):read 'n') io.stdout:flush() moonpool.sleep(60)"
        let process = try Subprocess(
            Tool.path, ["--attachable", "-e", code], environment: ["XDG_RUNTIME_DIR": folder.path],
            until: "\n")
        let number = process.output.prefix { $0 != "\n" }
        try Tool.run(
            ["attach", String(number), "-e", "1 + 1"], environment: ["XDG_RUNTIME_DIR": folder.path]
        ).expectOutput("2\n")
        var info = stat()
        #expect(stat(folder.path + "/moonpool", &info) == 0)
        #expect(info.st_mode & 0o777 == 0o700)
        #expect(stat(folder.path + "/moonpool/\(number).sock", &info) == 0)
        #expect(info.st_mode & 0o777 == 0o600)
        chmod(folder.path + "/moonpool", 0o777)
        let open = try Tool.run(
            ["--attachable", "-e", "print 'ran'"], environment: ["XDG_RUNTIME_DIR": folder.path]
        ).expectExit(1)
        #expect(open.output == "")
        try Tool.run(["attach", "999999999", "-e", "1"]).expectError("--attachable")
    }

    @Test func `a script without --attachable refuses attach`() throws {
        let outcome = try Tool.run(
            ["-e", "print(1)"], environment: ["XDG_RUNTIME_DIR": folder.path])
        #expect(outcome.output == "1\n")
        #expect(TemporaryFolder.names(in: folder.path).isEmpty)
        try Tool.run(["--attachable="]).expectExit(1)
    }
}
