import EventLoops
import LineEditing
import LuaHost

extension MetaCommand {
    static let files: [MetaCommand] = [
        MetaCommand(
            "load", "FILE", "Runs a file as if it were typed: its locals stay.", argument: .file
        ) { session, path in
            guard !path.isEmpty else { throw CommandError(".load takes the name of a file") }
            let full = FileNames.expanded(path)
            let text = try SourceText.read(full, named: path)
            session.modules.noteLoaded(file: full)
            session.load(text, named: full)
        },
        MetaCommand(
            "save", "FILE", "Writes the entries that went well into a file.", argument: .file
        ) { session, path in
            guard !path.isEmpty else { throw CommandError(".save takes the name of a file") }
            let text = SavedScript(
                entries: session.script, opening: session.opening,
                keepsRunning: session.keepsRunning
            ).text
            if let message = ProcessServices.write(text, to: FileNames.expanded(path)) {
                throw CommandError("cannot write \(path): \(message)")
            }
            session.write(
                "\(ValueText.count(session.script.count, "entry", "entries")) in \(path)\n")
        },
        MetaCommand(
            "transcript", "[FILE]",
            "Records what is typed and shown, for `moonpool transcript FILE`; without one, ends it.",
            argument: .file
        ) { session, path in
            if let recorder = session.transcript {
                session.record(to: nil)
                let count = try recorder.end().get()
                session.write(
                    "\(ValueText.count(count, "entry", "entries")) in \(recorder.path)\n")
            } else if path.isEmpty {
                throw CommandError(".transcript takes the name of a file")
            }
            guard !path.isEmpty else { return }
            let recorder = try TranscriptRecorder(
                path, columns: session.window.columns,
                firstEntry: session.evaluator.nextNumber)
            session.write("recording into \(recorder.path); .transcript ends it\n")
            session.record(to: recorder)
        },
        MetaCommand(
            "edit", "", "Opens the last entry in your editor and runs what you make of it."
        ) { session, _ in
            guard session.output.hasPrograms else {
                throw CommandError("this terminal cannot show an editor")
            }
            session.textToEdit = session.newestEntry + "\n"
        },
        MetaCommand(
            "reload", "[module | on | off]",
            "Runs a changed module again, its observers in place of the old; without one, all; on: by itself.",
            argument: .module
        ) { session, name in try session.reload(name) },
    ]
}
