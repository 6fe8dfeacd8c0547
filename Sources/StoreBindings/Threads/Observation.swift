import ObjectStore

/// The observation behind a token: an observer of this thread, or of another one.
protocol Observation: AnyObject {
    var isValid: Bool { get }
    var endHandler: (() -> Void)? { get set }
    var dependencies: [String] { get }
    var cost: String { get }
    var statistics: ObserverStatistics { get }
    var reason: DeliveryReason? { get }
    func invalidate()
}

extension NotificationToken: Observation {}
