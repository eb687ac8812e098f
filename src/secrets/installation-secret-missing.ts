// The error of an installation without the secret that it is under. In a file of its own, because
// both who reads the files and who compares proofs throw it.

/** Its message says which secret is missing and where it is looked for. */
export class InstallationSecretMissing extends Error {
  override name = 'InstallationSecretMissing';
}
