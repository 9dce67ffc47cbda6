import type { Feature } from '../../feature.ts';
import { chatsApi } from './chats-api.ts';
import { mediaApi } from './media-api.ts';
import { messagesApi } from './messages-api.ts';
import { repliesApi } from './replies-api.ts';

export const chats: Feature = {
  name: 'chats',
  operations: (app) => [...messagesApi(app), ...mediaApi(app), ...chatsApi(app), ...repliesApi(app)],
};
