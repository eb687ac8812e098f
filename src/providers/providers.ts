// The door of the providers: the interface the gateway uses, and one provider for each kind.

export {
  type Attempt,
  type EventSource,
  type FaultKind,
  type Provider,
  type ProviderEndpoint,
  ProviderFault,
  type ProviderReply,
} from './provider.ts';
