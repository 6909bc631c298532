import type { HandlerDefinition } from '../core/handler/handler.ts';
import makeThumbnail from './handlers/make-thumbnail.ts';
import sendReminder from './handlers/send-reminder.ts';

/** The handlers whose payloads the API validates. A bundle replaces this list with the deployed handlers. */
const catalog: readonly HandlerDefinition[] = [makeThumbnail, sendReminder];

export default catalog;
