// The door of the Chat Completions protocol, as clients of OpenAI speak it: a request becomes a Messages request,
// a message and its events become what such a client reads. Pure; docs/chat-completions.md says what maps to what.

export { type ChatRequest, type ChatTerms, readChatRequest } from './chat-request.ts';
export { chatErrorBody } from './convert-error.ts';
export { convertEvents } from './convert-events.ts';
export { convertMessage } from './convert-message.ts';
export { inOwnWords } from './origins.ts';
