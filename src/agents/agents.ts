// The door of coding agents: their sign-ins, tokens and policies.

export { agentTokenReader, signAccessToken } from './agent-token.ts';
export {
  type AgentGrant,
  type AgentStore,
  CLIENT_NAMES,
  type DeviceCode,
  type GrantPage,
  makeGrant,
  type NewGrant,
  readUserCode,
} from './grant.ts';
export {
  type TelemetryRelay,
  type TelemetrySender,
  type TelemetrySignal,
  telemetryRelay,
} from './relay-telemetry.ts';
export { AgentSignIn, type AgentSignInParts, type OAuthAnswer } from './sign-in.ts';
