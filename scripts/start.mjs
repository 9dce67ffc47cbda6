// `npm start`: installs and builds what is missing, then runs the service in this terminal until it is stopped.
import { prepareService } from './prepare-service.mjs';
import { runProgram } from './run.mjs';

await runProgram('dist/service/main.js', process.argv.slice(2), prepareService);
