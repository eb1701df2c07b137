/// When a failed message is sent again.
package enum WebhookSchedule {
  /// How long the server tries to deliver a message.
  package static let lifetime = Duration.seconds(3 * 86_400)

  /// Seconds after the first failed attempt, after the second, and so on. The last one repeats.
  private static let seconds = [1, 5, 30, 120, 300, 900, 1800, 3600]

  /// The time from a failed attempt to the next one. Attempts are counted from 1. `random`, from 0
  /// to 1, shifts the time by up to a fifth in both directions, so that messages that failed
  /// together are not all sent again together. `retryAfter`, if the receiver named a time, is the
  /// least.
  package static func delay(after attempt: Int, random: Double, retryAfter: Duration? = nil) -> Duration {
    let usual = seconds[min(max(attempt, 1), seconds.count) - 1]
    // Written so that a value that is not a number counts as 0.
    let share = random > 0 ? min(random, 1) : 0
    let delay = Duration.milliseconds(Double(usual) * (800 + 400 * share))
    return max(delay, retryAfter ?? .zero)
  }
}
