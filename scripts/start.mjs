// `npm start`: installs and builds what is missing, then runs the service in this terminal until it is stopped.
import { runProgram } from './run.mjs';

await runProgram('dist/service/main.js', process.argv.slice(2));
