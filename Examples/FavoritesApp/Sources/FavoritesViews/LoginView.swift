#if canImport(SwiftUI)
  import FavoritesModel
  import LockstepClient
  import SwiftUI

  /// Signs a user up, or logs a user in.
  struct LoginView: View {
    let client: LockstepClient
    @State private var email = ""
    @State private var password = ""
    @State private var isBusy = false
    @State private var failure: String?
    @Environment(\.dismiss) private var dismiss

    var body: some View {
      Form {
        TextField("E-mail address", text: $email).textContentType(.username)
        SecureField("Password", text: $password).textContentType(.password)
        if let failure { Text(failure).foregroundStyle(.red) }
        Button("Log in") { enter { try await client.logIn(email: email, password: password) } }
        Button("Sign up") { enter { try await client.signUp(email: email, password: password) } }
      }
      .disabled(isBusy)
      .navigationTitle("Log in")
    }

    private func enter(_ body: @escaping @MainActor () async throws -> Void) {
      isBusy = true
      Task {
        do {
          try await body()
          dismiss()
        } catch {
          failure = error.sentence
        }
        isBusy = false
      }
    }
  }
#endif
