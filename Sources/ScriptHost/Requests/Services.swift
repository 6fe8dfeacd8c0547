import ObjectStore
import Replication

/// The services of a script, and its connections for requests.
final class Services {
    private unowned let context: ScriptContext
    private var running: [Int: Service] = [:]
    private var last = 0
    private var clients: [NatsOptions: RequestClient] = [:]

    init(_ context: ScriptContext) { self.context = context }

    /// The running services, in the order of their start.
    var all: [Service] { running.sorted { $0.key < $1.key }.map(\.value) }

    /// Starts a service.
    func start(_ make: (_ number: Int) throws -> Service) rethrows -> Service {
        last += 1
        let service = try make(last)
        running[last] = service
        return service
    }

    /// Returns the running service with a number.
    func find(_ number: Int) -> Service? { running[number] }

    /// Removes a service that has stopped.
    func remove(_ service: Service) {
        for (number, known) in running where known === service { running[number] = nil }
    }

    /// Returns the connection to servers, which is opened at the first request.
    func client(_ servers: NatsOptions) -> RequestClient {
        if let known = clients[servers] { return known }
        // Scripts use one or two connections; this limits a script that generates addresses.
        if clients.count >= 16 { closeClients() }
        let made = RequestClient(servers)
        clients[servers] = made
        return made
    }

    /// Stops all services and closes all connections.
    func close() {
        for service in all { service.stop() }
        closeClients()
    }

    private func closeClients() {
        for client in clients.values { client.close() }
        clients = [:]
    }
}
