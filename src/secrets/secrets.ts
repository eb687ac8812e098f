// Secrets: a value that cannot be printed by accident, keyed hashes of what callers show, and
// the sealing of what providers gave us. Everything derives from the installation's one secret.

export {
  InstallationSecretMissing,
  type InstallationStore,
  loadInstallationSecret,
  requireSameSecret,
} from './installation-secret.ts';
export { Secret } from './secret.ts';
export { openVault, type Vault } from './vault.ts';
