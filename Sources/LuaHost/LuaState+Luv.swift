import CLuaShims

extension LuaState {
    /// Runs the callbacks of the C module `luv` as runs of this state.
    ///
    /// They can be stopped, and their errors are kept for ``takeLuvFailures()``, where luv itself would end the
    /// process. Returns false if the table is not this module.
    package func adoptLuv(_ module: LuaTable) -> Bool {
        let L = stack
        push(module.reference, on: L)
        return shim_adopt_luv(L)
    }

    /// Disables all callbacks of luv; call it before the state is closed, which closes luv's handles.
    package func silenceLuv() { shim_silence_luv(main) }

    /// Returns the errors of luv's callbacks since the last call.
    package func takeLuvFailures() -> [LuaError] {
        let L = stack
        shim_take_luv_failures(L)
        guard let list = pop(L).table else { return [] }
        return list.array.compactMap { entry in
            guard let entry = entry.table else { return nil }
            let raised = entry[1]
            let error = error(of: raised)
            var lua =
                error as? LuaError
                ?? LuaError(
                    kind: .runtime,
                    message: (try? describe(raised).description) ?? "\(error)", traceback: nil,
                    underlying: error, value: raised)
            lua.kind = error is LuaInterrupted ? .interrupted : .runtime
            lua.traceback = entry[2].text
            return lua
        }
    }
}
