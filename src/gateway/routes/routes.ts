// Which ways to a model there are, how they do, and in which order a message tries them.

export { type Candidate, listCandidates } from './candidate.ts';
export { type Conversation, Conversations } from './conversations.ts';
export { type Lots, orderCandidates } from './order-candidates.ts';
export { type Passage, RouteHealth, type Standing, type TargetHealth } from './route-health.ts';
