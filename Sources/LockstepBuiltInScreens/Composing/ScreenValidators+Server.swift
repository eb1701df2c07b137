import LockstepAccounts
import LockstepReactor

extension ScreenValidators {
  /// The rules of the server. `shortestPassword` reads the fewest characters that the password of any
  /// user may have. It is called only for passwords that are shorter than new ones may be.
  public init(_ rules: PasswordRules, shortestPassword: @escaping @Sendable () async throws -> Int) {
    self.init(
      username: { .address(ScreenLanguage(of: $0)) },
      password: { .length(rules, ScreenLanguage(of: $0), shortest: shortestPassword) },
      companyName: { .profileText(.noCompanyName, .validCompanyName, ScreenLanguage(of: $0)) },
      position: { .profileText(.noPosition, .validPosition, ScreenLanguage(of: $0)) }
    )
  }
}
