import EventLoops
import LuaHost

extension MetaCommand {
    static let files: [MetaCommand] = [
        MetaCommand(
            "load", "FILE", "Runs a file as if it were typed: its locals stay.", argument: .file
        ) { session, path in
            guard !path.isEmpty else { throw CommandError(".load takes the name of a file") }
            guard let bytes = ProcessServices.read(path, limit: 64 << 20) else {
                throw CommandError("cannot read \(path)")
            }
            var text = String(decoding: bytes, as: UTF8.self)
            // The first line of a program may be the system's; it stays for the numbers' sake.
            if text.hasPrefix("#") { text = "--" + text }
            session.evaluate(text, named: path)
        },
        MetaCommand(
            "save", "FILE", "Writes the entries that went well into a file.", argument: .file
        ) { session, path in
            guard !path.isEmpty else { throw CommandError(".save takes the name of a file") }
            let text = session.script.map { $0 + "\n" }.joined()
            let values = try session.context.state.run(
                """
                local path, text = ...
                local file, message = io.open(path, "w")
                if not file then return message end
                local done, problem = file:write(text)
                file:close()
                return not done and problem or nil
                """, name: "=moonpool", arguments: [.text(path), .text(text)])
            if let message = values.first?.text { throw CommandError("cannot write \(message)") }
            session.write(
                "\(ValueText.count(session.script.count, "entry", "entries")) in \(path)\n")
        },
    ]
}
