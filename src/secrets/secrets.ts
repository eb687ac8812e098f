// Secrets: a value that cannot be printed by accident, keyed hashes of what callers show, and
// the sealing of what providers gave us. Everything derives from the installation's one secret.

export {
  type FoundSecret,
  findInstallationSecrets,
  type InstallationStore,
  isUnderPreviousSecret,
  loadInstallationSecrets,
  SECRET_PROOF,
  type SecretSettings,
} from './installation-secret.ts';
export { InstallationSecretMissing } from './installation-secret-missing.ts';
export { Secret } from './secret.ts';
export { previousSecretPath, removePreviousSecretFile, rotateSecretFiles, secretPath } from './secret-file.ts';
export { openVault, SealBroken, type Vault } from './vault.ts';
