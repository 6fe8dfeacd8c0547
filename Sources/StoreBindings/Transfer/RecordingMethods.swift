import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// A recording for scripts.
///
/// The recording continues if the script releases the handle, because its store retains it.
final class RecordingHandle {
    let recording: ChangeRecording
    private weak var store: StoreHandle?

    /// Creates a handle of a recording, which the store retains until ``stop()``.
    init(_ recording: ChangeRecording, _ store: StoreHandle) {
        self.recording = recording
        self.store = store
        store.add(recording)
    }

    func stop() {
        recording.stop()
        store?.remove(recording)
    }

    static let type: LuaClass<RecordingHandle> = LuaClass(
        name: "recording",
        methods: [
            LuaMethod("stop") { handle, _ in
                handle.stop()
                return .none
            }
        ],
        properties: [
            LuaProperty("path") { $1.set($0.recording.path) },
            LuaProperty("is_active") { $1.set($0.recording.isActive) },
            LuaProperty("steps") { $1.set(Int64($0.recording.steps)) },
        ],
        metamethods: [
            LuaMethod("__close") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("__tostring") { handle, call in
                let state = handle.recording.isActive ? "active" : "stopped"
                return call.answer(.text("recording in \(handle.recording.path) (\(state))"))
            },
        ])
}

/// The functions `store:record` and `moonpool.replay`.
enum RecordingMethods {
    static var store: [LuaMethod<StoreHandle>] {
        [
            LuaMethod("record") { handle, call in
                let path = try call.path(2, for: .writing)
                let given = try call.options(3)
                var options = ChangeRecording.Options()
                options.beginsWithSnapshot = given?["snapshot"].isTruthy ?? false
                options.hasOldValues = given?["old_values"] != .boolean(false)
                let recording = try TransferError.wrapping {
                    try ChangeRecording(of: handle.store, to: path, options: options)
                }
                return call.answer(RecordingHandle(recording, handle), RecordingHandle.type)
            }
        ]
    }

    /// Implements `replay(path, store)`: applies a recording, and returns the numbers of commits and of object changes.
    static func replay(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(1, for: .reading)
        let store = try call.object(2, StoreHandle.type)
        try store.store.check()
        let replay = ChangeReplay(into: store.store)
        try TransferError.wrapping { try replay.run(path) }
        return call.answer(.integer(Int64(replay.steps)), .integer(Int64(replay.changes)))
    }
}
