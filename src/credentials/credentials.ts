// Credentials that change while the service runs: references to files and secret managers, and identities at clouds. Their
// libraries are loaded when the first such credential is configured.

export { findAuthFault } from './find-auth-fault.ts';
export { type CredentialState, LiveCredentials } from './live-credentials.ts';
export { readReferences, SettingSecrets } from './setting-secrets.ts';
