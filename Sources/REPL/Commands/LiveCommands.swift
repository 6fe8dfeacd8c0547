import ObjectStore
import StoreBindings

extension MetaCommand {
    static var live: [MetaCommand] {
        [
            MetaCommand(
                "watch", "QUERY",
                "Show a query as a table that follows the data: new, changed and removed rows in color; q leaves.",
                argument: .query
            ) { session, text in
                guard !text.isEmpty else {
                    throw CommandError(
                        "expected a query, such as Dog where age > 3, or an expression, such as "
                            + "store:objects \"Dog\":sorted \"age\"")
                }
                session.open(try WatchPanel(session, text))
            }
        ]
    }
}
