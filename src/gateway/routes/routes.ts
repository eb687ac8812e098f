// Which ways to a model there are, how they do, and in which order a message tries them.

export type { Candidate } from './candidate.ts';
export { type Conversation, Conversations } from './conversations.ts';
export { findWays, type Ways, type WaysAsked } from './find-ways.ts';
export { listHealth } from './list-health.ts';
export { type Lots, orderCandidates } from './order-candidates.ts';
export { type Passage, RouteHealth, type Standing, type TargetHealth } from './route-health.ts';
export { Tour } from './tour.ts';
