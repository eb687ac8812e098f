// The gates of `npm run bench`: the most that a figure may be. Each is above its figure by more than the noise of busy
// machines, so that only a change of the code exceeds it. null: the figure has no gate.

export const gates = {
  // CPU time of a message against the bare proxy's (x).
  message: 6,
  messageOf76KB: 4,
  unknownKey: 1,
  // CPU time of a message with three levels, a person with budgets and five tags against one without (x).
  company: 1.25,
  // CPU time of a message with a thousand active accounts against one, on SQLite (x).
  manyAccounts: 2,
  // CPU time of a message, nodes and database, on three nodes against one (x).
  manyNodes: 2.75,
  // CPU time of an agent's turn against the runtime's own relay (x).
  turnOf100KB: 2.4,
  turnOf1MB: 2.2,
  // CPU time of an agent's turn over Chat Completions or Responses against Messages (x).
  frontOf100KB: 2.2,
  frontOf1MB: 3.25,
  // CPU time of a stream's event, 100 streams, against the runtime's own relay (x).
  event: 3.75,
  idleMegabytes: 110,
  megabytesOf5000Streams: 400,
  startMs: 300,
  // The longest step of the event loop for one request or one answer.
  stepMs: 150,
} as const satisfies Readonly<Record<string, number | null>>;
