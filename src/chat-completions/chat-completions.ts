// The door of Chat Completions: translates OpenAI requests to Messages and answers back, by docs/chat-completions.md.

export { type ChatTerms, readChatInTurns, readChatRequest } from './chat-request.ts';
export { convertEvents } from './chunk-writer.ts';
export { chatErrorBody, withClientPaths } from './convert-error.ts';
export { convertMessage } from './convert-message.ts';
