import pytest

from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.merge_mode import RecordMergeMode, check_supported, resolve_merge_rule

COMMIT = RecordMergeMode.COMMIT_TIME_ORDERING
EVENT = RecordMergeMode.EVENT_TIME_ORDERING
CUSTOM = RecordMergeMode.CUSTOM

EVENT_UUID = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
COMMIT_UUID = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
PAYLOAD_UUID = "00000000-0000-0000-0000-000000000000"
CUSTOM_UUID = "1897ef5f-18bc-4557-939c-9d6a8afd1519"

DEFAULT = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
EVENT_TIME = "org.apache.hudi.common.model.EventTimeAvroPayload"
OVERWRITE = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
PARTIAL = "org.apache.hudi.common.model.PartialUpdateAvroPayload"


def rule(version, *, payload="", strategy="", mode="", options=("", ""), **others):
    properties = {
        "hoodie.table.version": str(version),
        "hoodie.compaction.payload.class": payload,
        "hoodie.record.merge.strategy.id": strategy,
        "hoodie.record.merge.mode": mode,
    }
    properties = {key: value for key, value in properties.items() if value}
    properties |= {f"hoodie.{key.replace('__', '.')}": value for key, value in others.items()}
    return resolve_merge_rule(TableConfig.parse(properties), *options)


@pytest.mark.parametrize("version", [1, 6, 7])
@pytest.mark.parametrize(
    ("payload", "strategy", "expected"),
    [
        pytest.param(DEFAULT, "", EVENT, id="default-payload"),
        pytest.param(EVENT_TIME, "", EVENT, id="event-time-payload"),
        pytest.param(OVERWRITE, "", COMMIT, id="overwrite-payload"),
        pytest.param(PARTIAL, "", CUSTOM, id="other-payload"),
        pytest.param("com.acme.OwnPayload", "", CUSTOM, id="own-payload"),
        # Hudi 0.15 writes the event-time strategy whatever the payload class.
        pytest.param(OVERWRITE, EVENT_UUID, COMMIT, id="payload-wins-over-the-strategy-of-0.15"),
        pytest.param(PARTIAL, EVENT_UUID, CUSTOM, id="other-payload-wins-over-strategy"),
        pytest.param(DEFAULT, COMMIT_UUID, EVENT, id="payload-wins-over-commit-time-strategy"),
        pytest.param("", EVENT_UUID, EVENT, id="only-event-time-strategy"),
        pytest.param("", COMMIT_UUID, COMMIT, id="only-commit-time-strategy"),
        pytest.param("", PAYLOAD_UUID, CUSTOM, id="only-payload-strategy"),
        pytest.param("", CUSTOM_UUID, CUSTOM, id="only-custom-strategy"),
        pytest.param("", "", EVENT, id="neither-is-the-default-payload-of-1.x"),
    ],
)
def test_mode_up_to_version_7_follows_the_payload_then_the_strategy(
    version, payload, strategy, expected
):
    assert rule(version, payload=payload, strategy=strategy).mode is expected


def test_mode_up_to_version_7_is_not_the_stored_one():
    assert rule(6, payload=OVERWRITE, mode="EVENT_TIME_ORDERING").mode is COMMIT


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("stored", [COMMIT, EVENT, CUSTOM], ids=lambda m: m.value)
@pytest.mark.parametrize("payload", ["", DEFAULT, OVERWRITE, PARTIAL])
@pytest.mark.parametrize("strategy", ["", EVENT_UUID, COMMIT_UUID, PAYLOAD_UUID])
def test_mode_from_version_8_on_is_the_stored_one(version, stored, payload, strategy):
    assert rule(version, payload=payload, strategy=strategy, mode=stored.value).mode is stored


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize(
    ("payload", "strategy", "ordering", "expected"),
    [
        pytest.param("", "", "", COMMIT, id="nothing-known"),
        pytest.param("", "", "ts", EVENT, id="only-ordering-fields"),
        pytest.param(DEFAULT, "", "", EVENT, id="payload"),
        pytest.param(OVERWRITE, "", "ts", COMMIT, id="payload-wins-over-ordering-fields"),
        pytest.param(PARTIAL, "", "ts", CUSTOM, id="other-payload"),
        pytest.param(OVERWRITE, EVENT_UUID, "", EVENT, id="strategy-wins-over-payload"),
        pytest.param(DEFAULT, COMMIT_UUID, "ts", COMMIT, id="commit-time-strategy"),
        pytest.param(DEFAULT, PAYLOAD_UUID, "ts", CUSTOM, id="payload-strategy"),
    ],
)
def test_missing_mode_from_version_8_on_is_what_a_writer_would_have_stored(
    version, payload, strategy, ordering, expected
):
    found = rule(version, payload=payload, strategy=strategy, table__ordering__fields=ordering)
    assert found.mode is expected


@pytest.mark.parametrize("version", [8, 9])
def test_unknown_mode_is_corrupt(version):
    message = r"hoodie\.record\.merge\.mode is 'NEWEST'; known: COMMIT_TIME_ORDERING"
    with pytest.raises(CorruptTableError, match=message):
        rule(version, mode="NEWEST")


def test_payload_of_the_old_package_is_apache_hudis():
    assert rule(6, payload="com.uber.hoodie.OverwriteWithLatestAvroPayload").mode is COMMIT


@pytest.mark.parametrize("name", [DEFAULT, OVERWRITE])
def test_own_payload_with_the_simple_name_of_a_built_in_one_is_custom(name):
    assert rule(6, payload=f"com.acme.{name.rpartition('.')[2]}").mode is CUSTOM


@pytest.mark.parametrize(
    ("version", "properties", "expected"),
    [
        pytest.param(6, {"payload": DEFAULT}, ("ts", "seq"), id="event-time"),
        pytest.param(6, {"payload": OVERWRITE}, (), id="commit-time-ignores-them"),
        pytest.param(6, {"payload": PARTIAL}, ("ts", "seq"), id="custom"),
        pytest.param(9, {"mode": "EVENT_TIME_ORDERING"}, ("ts", "seq"), id="event-time-9"),
        pytest.param(9, {"mode": "COMMIT_TIME_ORDERING"}, (), id="commit-time-9"),
    ],
)
def test_ordering_fields_by_mode(version, properties, expected):
    found = rule(version, **properties, table__ordering__fields="ts,seq")
    assert found.ordering_fields == expected


def test_event_time_without_ordering_fields_has_none():
    assert rule(9, mode="EVENT_TIME_ORDERING").ordering_fields == ()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_payload_and_strategy_are_named_only_where_they_decide(version):
    custom = rule(version, payload=PARTIAL, strategy=PAYLOAD_UUID, mode="CUSTOM")
    assert (custom.payload_class, custom.merge_strategy_id) == (PARTIAL, PAYLOAD_UUID)
    ordered = rule(version, payload=DEFAULT, strategy=EVENT_UUID, mode="EVENT_TIME_ORDERING")
    assert (ordered.payload_class, ordered.merge_strategy_id) == ("", "")


@pytest.mark.parametrize(("version", "expected"), [(6, ""), (8, ""), (9, "IGNORE_DEFAULTS")])
def test_partial_update_mode_counts_from_version_9_on(version, expected):
    found = rule(version, table__partial__update__mode="IGNORE_DEFAULTS")
    assert found.partial_update_mode == expected


def test_legacy_payload_class_is_information_only():
    found = rule(9, mode="COMMIT_TIME_ORDERING", table__legacy__payload__class=DEFAULT)
    assert (found.mode, found.payload_class) == (COMMIT, "")


# Delete markers

MARKER = {"payload__delete__field": "op", "payload__delete__marker": "D"}
MERGE_PROPERTY = {f"record__merge__property__hoodie__{key}": text for key, text in MARKER.items()}


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        pytest.param(("", ""), {}, ("", ""), id="none"),
        pytest.param(("", ""), MARKER, ("op", "D"), id="property"),
        pytest.param(("", ""), MERGE_PROPERTY, ("op", "D"), id="merge-property"),
        pytest.param(("kind", "x"), {}, ("kind", "x"), id="option"),
        pytest.param(("kind", "x"), MERGE_PROPERTY, ("kind", "x"), id="option-before-property"),
    ],
)
def test_delete_marker_of_options_or_properties(options, properties, expected):
    found = rule(9, mode="EVENT_TIME_ORDERING", options=options, **properties)
    assert (found.delete_field, found.delete_marker) == expected


@pytest.mark.parametrize("half", ["payload__delete__field", "payload__delete__marker"])
@pytest.mark.parametrize("properties", [MARKER, MERGE_PROPERTY], ids=["property", "merge-property"])
def test_half_a_delete_marker_is_corrupt(half, properties):
    only = {key: text for key, text in properties.items() if key.endswith(half)}
    with pytest.raises(CorruptTableError, match="set both or none"):
        rule(9, mode="EVENT_TIME_ORDERING", **only)


def test_metadata_table_is_sent_to_the_table_above_it():
    properties = {
        "hoodie.table.name": "orders_metadata",
        "hoodie.table.version": "9",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.record.merge.mode": "CUSTOM",
        "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
    }
    rule = resolve_merge_rule(TableConfig.parse(properties), "", "")
    with pytest.raises(UnsupportedMergeError, match=r"inspect\.metadata_records\(\)"):
        check_supported(rule)
