import EventLoops
import LineEditing
import LuaHost

extension MetaCommand {
    static var files: [MetaCommand] {
        [
            MetaCommand(
                "load", "FILE", "Run a file as if it were typed; its locals remain visible.",
                argument: .file, isUnsaved: true
            ) { session, path in
                guard !path.isEmpty else { throw CommandError("expected a file name: .load FILE") }
                let full = FileNames.expanded(path)
                let text = try SourceText.read(full, named: path)
                session.modules.noteLoaded(file: full)
                session.load(text, named: full, shownAs: path)
            },
            MetaCommand(
                "save", "FILE", "Write the session to a script that `moonpool FILE` runs.",
                argument: .file, isUnsaved: true
            ) { session, path in
                guard !path.isEmpty else { throw CommandError("expected a file name: .save FILE") }
                let text = session.script.text(
                    hasObservers: !session.context.storeModule.activeTokens.isEmpty
                        || session.liveExpressions.contains { !$0.effect.isDisposed })
                if let message = ProcessServices.write(text, to: FileNames.expanded(path)) {
                    throw CommandError("cannot write '\(path)': \(message)")
                }
                session.write(
                    "\(ValueText.count(session.script.count, "entry", "entries")) in \(path); "
                        + "run it with: moonpool \(path)\n")
            },
            MetaCommand(
                "transcript", "[FILE]",
                """
                Record input and output for `moonpool transcript FILE`, or as a picture in FILE.svg or FILE.html. Without FILE, \
                stop recording.
                """,
                argument: .file, isUnsaved: true
            ) { session, path in
                if let recorder = session.transcript {
                    session.record(to: nil)
                    let count = try recorder.end().get()
                    session.write(
                        "\(ValueText.count(count, "entry", "entries")) in \(recorder.path)\n")
                } else if path.isEmpty {
                    throw CommandError("expected a file name: .transcript FILE")
                }
                guard !path.isEmpty else { return }
                let recorder: any SessionRecorder
                if let format = PictureFormat(path: path) {
                    recorder = try PictureRecorder(
                        path, format, style: session.style, columns: session.window.columns)
                } else {
                    recorder = try TranscriptRecorder(
                        path, columns: session.window.columns,
                        firstEntry: session.evaluator.nextNumber)
                }
                session.write("recording to \(recorder.path); stop with .transcript\n")
                session.record(to: recorder)
            },
            MetaCommand(
                "edit", "", "Edit the last entry in $EDITOR and run the result."
            ) { session, _ in
                guard session.output.hasPrograms else {
                    throw CommandError("this terminal cannot run an editor")
                }
                session.textToEdit = session.newestEntry + "\n"
            },
            MetaCommand(
                "reload", "[module | on | off]",
                "Reload a changed module and replace its observers. Without a name, reload all. on: reload automatically.",
                argument: .module
            ) { session, name in try session.reload(name) },
        ]
    }
}
