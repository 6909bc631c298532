import type { HandlerModules } from '../api/handler-schemas.ts';

/** The handlers whose payloads the API validates. A bundle replaces these with the deployed handlers. */
const modules: HandlerModules = {
  make_thumbnail: () => import('./handlers/make-thumbnail.ts'),
  send_reminder: () => import('./handlers/send-reminder.ts'),
};

export default modules;
