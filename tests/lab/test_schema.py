"""Whatever is asked within or beside the described interface, the server never fails."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error

from glassformer.lab.server import create_app
from lab.serving import save

pytestmark = pytest.mark.slow
MANY = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def interface(tmp_path_factory):
    """The described interface of a lab with one run; trainings are the business of their own tests."""
    folder = tmp_path_factory.mktemp("schema") / "runs"
    save(folder / "run")
    lab = create_app(folder, port=80)
    schema = schemathesis.openapi.from_asgi("/openapi.json", lab, headers={"host": "localhost"})
    schema.config.base_url = "http://localhost"
    return schema


def test_no_request_makes_it_fail(interface):
    operations = [found.ok() for found in interface.get_all_operations()]
    assert len(operations) >= 7
    for operation in operations:

        @MANY
        @given(case=operation.as_strategy())
        def ask(case):
            case.call_and_validate(checks=[not_a_server_error])

        ask()


@pytest.mark.parametrize("path", ["/{language}/runs/{name}", "/{language}/runs/{name}/look"])
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_question_makes_a_run_fail(interface, path, mode):
    @MANY
    @given(case=interface[path]["GET"].as_strategy(generation_mode=mode))
    def ask(case):
        case.path_parameters = {"language": "zh", "name": "run"}
        case.call_and_validate(checks=[not_a_server_error])

    ask()
