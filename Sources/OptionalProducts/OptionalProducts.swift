import Replication
import Transfer

#if RealmFiles
    import RealmTransfer
#endif
#if NATS
    import NATSReplication
#endif
#if PostgreSQL
    import PostgresTransfer
#endif

/// The optional products that this program was built with.
///
/// This is the only place that names both the traits of the package and the modules behind them. All other code asks
/// ``RowFormats`` and ``CommitSinks``, and receives the error `unsupported` if a product is missing.
package enum OptionalProducts {
    private static let registered: Void = {
        #if RealmFiles
            RowFormats.realm.register(RealmFormat())
        #endif
        #if NATS
            CommitSinks.nats.register(NatsSink())
        #endif
        #if PostgreSQL
            RowFormats.postgres.register(PostgresFormat())
            CommitSinks.postgres.register(PostgresSink())
        #endif
    }()

    /// Registers the products, once; each later call takes nanoseconds.
    package static func register() { _ = registered }
}
