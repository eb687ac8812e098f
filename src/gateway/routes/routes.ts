// The targets of a model: their health and the order in which a message tries them.

export { AttemptIterator } from './attempt-iterator.ts';
export { type Conversation, Conversations } from './conversations.ts';
export { findTargets, type OrderInputs, orderTargets, type TargetList, type TargetQuery } from './find-targets.ts';
export { type BreakerState, listHealth, type Permit, RouteHealth, type TargetHealth } from './route-health.ts';
export type { Target } from './target.ts';
