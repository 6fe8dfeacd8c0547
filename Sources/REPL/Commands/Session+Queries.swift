import LuaHost
import ObjectStore
import StoreBindings

extension Session {
    /// What `.explain` and `.watch` take: `Dog` or `Dog where age > 3` for the objects of the prompt's store, else an expression.
    ///
    /// A variable that is called like a class is the variable, unless a predicate follows.
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
