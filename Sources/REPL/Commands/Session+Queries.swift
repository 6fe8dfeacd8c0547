import LuaHost
import ObjectStore
import StoreBindings

extension Session {
    /// Compiles the argument of `.explain` and `.watch`: `Dog`, `Dog where age > 3`, or an expression.
    ///
    /// If a variable has the name of a class, the name means the variable, unless a predicate follows.
    func prepareQuery(_ text: String) throws -> () throws -> [LuaValue] {
        guard let store, let query = ClassQuery(text),
            query.hasWhere || store.store.schema.find(query.className) != nil,
            query.predicate != nil || !isVariable(query.className)
        else { return try evaluator.prepare("= " + text) }
        let results = try query.results(in: store.store)
        return { [store.value(of: results)] }
    }

    private func isVariable(_ name: String) -> Bool {
        evaluator.local(name) ?? context.state.globals[name] != .nil
    }
}
